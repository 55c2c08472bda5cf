-- The slowest messages of the main threads: length, delay, and what each waited for.
select
  p.name as process,
  s.ts,
  s.dur / 1e6 as dur_ms,
  s.name,
  extract_arg(s.arg_set_id, 'debug.queue_delay_ms') as late_ms,
  extract_arg(s.arg_set_id, 'debug.mostly') as cpu_state
from slice s
join thread_track tt on s.track_id = tt.id
join thread t using (utid)
join process p using (upid)
where t.is_main_thread and extract_arg(s.arg_set_id, 'debug.what') is not null
order by s.dur desc
limit 50;
