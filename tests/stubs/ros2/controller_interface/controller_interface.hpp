#pragma once
#include "hardware_interface/loaned_interfaces.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/state.hpp"
namespace controller_interface
{
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { ALL, INDIVIDUAL, NONE };
struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};
class ControllerInterface
{
public:
  virtual ~ControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual return_type update(const rclcpp::Time &, const rclcpp::Duration &) = 0;
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() const { return node_; }

  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;

protected:
  template <typename T>
  void auto_declare(const std::string & name, const T & value) { node_->parameters.emplace(name, value); }

private:
  std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
};
}  // namespace controller_interface
