-- Lock waits: waiter, owner, length, and what both did.
include perfetto module android.monitor_contention;
select
  ts,
  dur / 1e6 as dur_ms,
  blocked_thread_name,
  short_blocked_method,
  blocking_thread_name,
  short_blocking_method,
  is_blocked_thread_main
from android_monitor_contention
order by dur desc;
