"""Policy-gradient algorithms, one file each: how rewards become advantages, and advantages a loss."""
