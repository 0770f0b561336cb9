#pragma once
#define PLUGINLIB_EXPORT_CLASS(Derived, Base) \
  static_assert(static_cast<Base *>(static_cast<Derived *>(nullptr)) == nullptr, "a plugin is one of its base class");
