#pragma once
#include "rclcpp/rclcpp.hpp"
namespace rclcpp_lifecycle
{
struct State {};
struct LifecycleNode
{
  std::map<std::string, std::vector<double>> parameters;
  std::shared_ptr<void> last;  // what was subscribed to last
  rclcpp::Logger get_logger() const { return {}; }
  rclcpp::Parameter get_parameter(const std::string & name) const { return {parameters.at(name)}; }
  template <typename Message, typename Callback>
  std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(
    const std::string &, rclcpp::SystemDefaultsQoS, Callback && callback)
  {
    auto made = std::make_shared<rclcpp::Subscription<Message>>();
    made->heard = callback;
    last = made;
    return made;
  }
};
}  // namespace rclcpp_lifecycle
