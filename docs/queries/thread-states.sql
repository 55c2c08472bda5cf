-- What each thread did at the moment of a thread dump, and who owned the lock that it waited for.
select
  s.ts,
  t.tid,
  t.name as thread,
  extract_arg(s.arg_set_id, 'debug.dump_kind') as dumped_for,
  extract_arg(s.arg_set_id, 'debug.state') as state,
  extract_arg(s.arg_set_id, 'debug.doing') as doing,
  extract_arg(s.arg_set_id, 'debug.waits_for_lock') as waits_for,
  extract_arg(s.arg_set_id, 'debug.held_by') as held_by,
  extract_arg(s.arg_set_id, 'debug.holds_locks') as holds,
  extract_arg(s.arg_set_id, 'debug.stack') as stack
from slice s
join thread_track tt on s.track_id = tt.id
join thread t using (utid)
where s.name glob 'dump: *'
order by s.ts, t.is_main_thread desc, t.tid;
