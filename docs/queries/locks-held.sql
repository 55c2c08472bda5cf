-- What threads owned while others waited for it, for whom, and which waits are a deadlock.
select
  s.ts,
  s.dur / 1e6 as dur_ms,
  t.name as owner,
  s.name as held,
  extract_arg(s.arg_set_id, 'debug.waiter_name') as waiter,
  extract_arg(s.arg_set_id, 'debug.stated_by') as stated_by,
  extract_arg(s.arg_set_id, 'debug.deadlock') as deadlock
from slice s
join thread_track tt on s.track_id = tt.id
join thread t using (utid)
where s.category = 'lock' and s.name glob 'holds lock of *'
order by s.dur desc;
