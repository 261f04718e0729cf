// Cholesky factorisation of small dense matrices, for the normal equations of least squares. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace weft {

/// The symmetric positive definite n by n `matrix`, of which the lower triangle is read, becomes its Cholesky
/// factor there (element (i, j) at i * n + j). A pivot that is not positive is taken for next to nothing.
void factorise(std::vector<double>& matrix, std::size_t n);

/// Solves matrix x = right for a factorised matrix; `right`, of n elements, becomes x.
void solve_factorised(const std::vector<double>& matrix, std::vector<double>& right);

}  // namespace weft
