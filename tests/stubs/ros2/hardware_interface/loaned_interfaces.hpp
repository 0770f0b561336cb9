#pragma once
#include <optional>
namespace hardware_interface
{
struct LoanedStateInterface
{
  double held;
#ifdef BEFORE_JAZZY
  double get_value() const { return held; }
#else
  template <typename T = double>
  std::optional<T> get_optional(unsigned int = 10) const { return held; }
#endif
};
struct LoanedCommandInterface
{
  double held;
#ifdef BEFORE_JAZZY
  void set_value(double value) { held = value; }
#else
  template <typename T>
  [[nodiscard]] bool set_value(const T & value, unsigned int = 10) { held = value; return true; }
#endif
};
}  // namespace hardware_interface
