-- Waits for tasks: who waited, how long, for which task, its state and place in the queue when the wait began.
select
  s.ts,
  s.dur / 1e6 as dur_ms,
  thread.name as waiter,
  extract_arg(s.arg_set_id, 'debug.task') as task,
  extract_arg(s.arg_set_id, 'debug.task_state') as task_state,
  extract_arg(s.arg_set_id, 'debug.submitted_at') as submitted_at,
  extract_arg(s.arg_set_id, 'debug.executor') as executor,
  extract_arg(s.arg_set_id, 'debug.place_in_queue') as place_in_queue
from slice s
join thread_track on s.track_id = thread_track.id
join thread using (utid)
where task_state is not null
order by s.dur desc;
