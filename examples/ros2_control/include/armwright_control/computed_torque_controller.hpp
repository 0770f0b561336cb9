// Computed torque for ros2_control: the inverse dynamics are exported C of one robot, so that update() allocates nothing.
#ifndef ARMWRIGHT_CONTROL__COMPUTED_TORQUE_CONTROLLER_HPP_
#define ARMWRIGHT_CONTROL__COMPUTED_TORQUE_CONTROLLER_HPP_

#include <array>
#include <string>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/state.hpp"
#if __has_include("realtime_tools/realtime_buffer.hpp")
#include "realtime_tools/realtime_buffer.hpp"
#else
#include "realtime_tools/realtime_buffer.h"
#endif
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

#include "robot.hpp"  // made by CMake from robot.hpp.in and the exported header

namespace armwright_control
{

// tau = inverse_dynamics(q, qd, qdd_ref + kd (qd_ref - qd) + kp (q_ref - q)), no larger than the robot's torques.
// With kp = kd = 0 and a reference at rest it bears gravity and friction and nothing else: the arm can be led by hand.
class ComputedTorqueController : public controller_interface::ControllerInterface
{
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using Point = trajectory_msgs::msg::JointTrajectoryPoint;

  CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & previous) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & previous) override;
  controller_interface::return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Vector = std::array<double, robot::joints>;
  struct Reference
  {
    Vector q, qd, qdd;
  };

  bool read_state(Vector & q, Vector & qd) const;
  bool take(const Point & point);

  Vector kp_{}, kd_{};
  realtime_tools::RealtimeBuffer<Reference> reference_;
  rclcpp::Subscription<Point>::SharedPtr subscription_;
};

}  // namespace armwright_control

#endif  // ARMWRIGHT_CONTROL__COMPUTED_TORQUE_CONTROLLER_HPP_
