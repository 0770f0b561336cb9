#include "armwright_control/computed_torque_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"

namespace armwright_control
{
namespace
{

// What an interface holds: get_optional() where there is one (Jazzy and later), get_value() before.
template <typename Interface>
auto value_of(const Interface & interface, int) -> decltype(interface.get_optional(), double())
{
  return interface.get_optional().value_or(std::numeric_limits<double>::quiet_NaN());
}

template <typename Interface>
double value_of(const Interface & interface, long)
{
  return interface.get_value();
}

std::vector<std::string> interfaces(std::initializer_list<const char *> kinds)
{
  std::vector<std::string> names;
  for (const char * kind : kinds) {
    for (const char * joint : robot::names) {
      names.push_back(std::string(joint) + "/" + kind);
    }
  }
  return names;
}

template <typename Vector>
bool fill(const std::vector<double> & given, Vector & out)
{
  if (given.empty()) {
    out.fill(0.0);
    return true;
  }
  if (given.size() != out.size()) {
    return false;
  }
  std::copy(given.begin(), given.end(), out.begin());
  return std::all_of(out.begin(), out.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

ComputedTorqueController::CallbackReturn ComputedTorqueController::on_init()
{
  auto_declare<std::vector<double>>("kp", std::vector<double>(robot::joints, 100.0));
  auto_declare<std::vector<double>>("kd", std::vector<double>(robot::joints, 20.0));
  return CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration ComputedTorqueController::command_interface_configuration() const
{
  return {controller_interface::interface_configuration_type::INDIVIDUAL, interfaces({hardware_interface::HW_IF_EFFORT})};
}

controller_interface::InterfaceConfiguration ComputedTorqueController::state_interface_configuration() const
{
  return {
    controller_interface::interface_configuration_type::INDIVIDUAL,
    interfaces({hardware_interface::HW_IF_POSITION, hardware_interface::HW_IF_VELOCITY})};
}

ComputedTorqueController::CallbackReturn ComputedTorqueController::on_configure(const rclcpp_lifecycle::State &)
{
  const bool fits = fill(get_node()->get_parameter("kp").as_double_array(), kp_) &&
    fill(get_node()->get_parameter("kd").as_double_array(), kd_);
  if (!fits) {
    RCLCPP_ERROR(get_node()->get_logger(), "kp and kd: expected %zu finite numbers, one per joint", robot::joints);
    return CallbackReturn::ERROR;
  }
  subscription_ = get_node()->create_subscription<Point>(
    "~/reference", rclcpp::SystemDefaultsQoS(), [this](const std::shared_ptr<const Point> point) {
      if (!take(*point)) {
        RCLCPP_WARN(
          get_node()->get_logger(), "a reference is left out: expected %zu finite positions in the robot's order",
          robot::joints);
      }
    });
  return CallbackReturn::SUCCESS;
}

bool ComputedTorqueController::take(const Point & point)
{
  Reference next{};
  const bool fits = !point.positions.empty() && fill(point.positions, next.q) && fill(point.velocities, next.qd) &&
    fill(point.accelerations, next.qdd);
  if (fits) {
    reference_.writeFromNonRT(next);
  }
  return fits;
}

ComputedTorqueController::CallbackReturn ComputedTorqueController::on_activate(const rclcpp_lifecycle::State &)
{
  Reference here{};  // it holds still where it is until told otherwise
  Vector rates;
  if (!read_state(here.q, rates)) {
    RCLCPP_ERROR(get_node()->get_logger(), "positions or velocities are not known");
    return CallbackReturn::ERROR;
  }
  reference_.initRT(here);
  return CallbackReturn::SUCCESS;
}

ComputedTorqueController::CallbackReturn ComputedTorqueController::on_deactivate(const rclcpp_lifecycle::State &)
{
  for (auto & command : command_interfaces_) {
    (void)command.set_value(0.0);
  }
  return CallbackReturn::SUCCESS;
}

bool ComputedTorqueController::read_state(Vector & q, Vector & qd) const
{
  bool known = state_interfaces_.size() == 2 * robot::joints;
  for (std::size_t i = 0; known && i < robot::joints; ++i) {
    q[i] = value_of(state_interfaces_[i], 0);
    qd[i] = value_of(state_interfaces_[robot::joints + i], 0);
    known = std::isfinite(q[i]) && std::isfinite(qd[i]);
  }
  return known;
}

controller_interface::return_type ComputedTorqueController::update(const rclcpp::Time &, const rclcpp::Duration &)
{
  Vector q, qd, qdd, tau;
  if (!read_state(q, qd)) {
    return controller_interface::return_type::ERROR;
  }
  const Reference & wanted = *reference_.readFromRT();
  for (std::size_t i = 0; i < robot::joints; ++i) {
    qdd[i] = wanted.qdd[i] + kd_[i] * (wanted.qd[i] - qd[i]) + kp_[i] * (wanted.q[i] - q[i]);
  }
  robot::inverse_dynamics(q.data(), qd.data(), qdd.data(), tau.data());
  for (std::size_t i = 0; i < robot::joints; ++i) {
    (void)command_interfaces_[i].set_value(std::clamp(tau[i], -robot::max_torque[i], robot::max_torque[i]));
  }
  return controller_interface::return_type::OK;
}

}  // namespace armwright_control

PLUGINLIB_EXPORT_CLASS(armwright_control::ComputedTorqueController, controller_interface::ControllerInterface)
