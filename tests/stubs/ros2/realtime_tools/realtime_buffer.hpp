#pragma once
namespace realtime_tools
{
template <typename T>
class RealtimeBuffer
{
public:
  void writeFromNonRT(const T & data) { held_ = data; }
  void initRT(const T & data) { held_ = data; }
  T * readFromRT() { return &held_; }

private:
  T held_{};
};
}  // namespace realtime_tools
