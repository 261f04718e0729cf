// Quantities as types: Bandwidth, Bytes, Fraction; time is std::chrono. Conversions have names.
// parse_* read what people write in files and options ("400G", "50M", "4096", "10MB", "0.5%", "2ms");
// an Error says what was expected. to_string gives the short form that parse_* reads back.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"

namespace weft {

using Nanoseconds = std::chrono::nanoseconds;

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  /// InfiniBand port data counters count 4-byte words (IBTA vol. 1, PortXmitData).
  static constexpr Bytes from_ib_words(std::int64_t words) { return Bytes(words * 4); }
  constexpr std::int64_t count() const { return count_; }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes(a.count_ * n); }
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bit(double per_second) { return Bandwidth(per_second); }
  static constexpr Bandwidth mbit(double per_second) { return Bandwidth(per_second * 1e6); }
  static constexpr Bandwidth gbit(double per_second) { return Bandwidth(per_second * 1e9); }
  /// `bytes` in `time`; zero time gives zero.
  static constexpr Bandwidth over(Bytes bytes, Nanoseconds time) {
    return time.count() <= 0
               ? Bandwidth()
               : Bandwidth(static_cast<double>(bytes.count()) * 8e9 / static_cast<double>(time.count()));
  }
  constexpr double bits_per_second() const { return bits_per_second_; }
  /// The time `bytes` take on the wire at this rate; the rate must be above zero.
  constexpr Nanoseconds time_for(Bytes bytes) const {
    return Nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(bytes.count()) * 8e9 / bits_per_second_));
  }
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
  friend constexpr Bandwidth operator+(Bandwidth a, Bandwidth b) {
    return Bandwidth(a.bits_per_second_ + b.bits_per_second_);
  }
  friend constexpr Bandwidth operator-(Bandwidth a, Bandwidth b) {
    return Bandwidth(a.bits_per_second_ - b.bits_per_second_);
  }
  friend constexpr Bandwidth operator*(Bandwidth a, double factor) {
    return Bandwidth(a.bits_per_second_ * factor);
  }
  friend constexpr double operator/(Bandwidth a, Bandwidth b) {
    return a.bits_per_second_ / b.bits_per_second_;
  }

 private:
  constexpr explicit Bandwidth(double bits_per_second) : bits_per_second_(bits_per_second) {}
  double bits_per_second_ = 0;
};

/// A share of a whole, 0 to 1: loss, confidence, coverage.
class Fraction {
 public:
  constexpr Fraction() = default;
  constexpr explicit Fraction(double value) : value_(value) {}
  static constexpr Fraction percent(double percent) { return Fraction(percent / 100.0); }
  constexpr double value() const { return value_; }
  constexpr double as_percent() const { return value_ * 100.0; }
  friend constexpr auto operator<=>(Fraction, Fraction) = default;

 private:
  double value_ = 0;
};

/// A decimal number with an optional suffix K, M, G or T (powers of 1000), in bits per second; above zero.
Result<Bandwidth> parse_bandwidth(std::string_view text);
/// A whole number of bytes with an optional suffix KB, MB, GB (powers of 1000) or KiB, MiB, GiB; zero or
/// more.
Result<Bytes> parse_bytes(std::string_view text);
/// "0.5%" or "0.5": per cent, 0 to 100.
Result<Fraction> parse_percent(std::string_view text);
/// A decimal number with a suffix ns, us, ms, s, m or h; zero or more.
Result<Nanoseconds> parse_duration(std::string_view text);

std::string to_string(Bandwidth rate);
std::string to_string(Bytes size);
std::string to_string(Fraction share);
std::string to_string(Nanoseconds time);

}  // namespace weft
