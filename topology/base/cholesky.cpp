#include "topology/base/cholesky.hpp"

#include <algorithm>
#include <cmath>

namespace weft {

void factorise(std::vector<double>& matrix, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k)
      for (std::size_t i = j; i < n; ++i) matrix[i * n + j] -= matrix[i * n + k] * matrix[j * n + k];
    const double pivot = std::sqrt(std::max(matrix[j * n + j], 1e-300));
    matrix[j * n + j] = pivot;
    for (std::size_t i = j + 1; i < n; ++i) matrix[i * n + j] /= pivot;
  }
}

void solve_factorised(const std::vector<double>& matrix, std::vector<double>& right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i * n + k] * right[k];
    right[i] /= matrix[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[k * n + i] * right[k];
    right[i] /= matrix[i * n + i];
  }
}

}  // namespace weft
