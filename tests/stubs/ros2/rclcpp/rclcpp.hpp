#pragma once
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#define RCLCPP_ERROR(logger, ...) ((void)(logger), std::fprintf(stderr, __VA_ARGS__))
#define RCLCPP_WARN(logger, ...) ((void)(logger), std::fprintf(stderr, __VA_ARGS__))
namespace rclcpp
{
struct Time {};
struct Duration {};
struct Logger {};
struct SystemDefaultsQoS {};
struct Parameter
{
  std::vector<double> values;
  std::vector<double> as_double_array() const { return values; }
};
template <typename Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription>;
  std::function<void(std::shared_ptr<const Message>)> heard;
};
}  // namespace rclcpp
