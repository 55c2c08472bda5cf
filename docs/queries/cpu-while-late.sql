-- How much CPU time main got during a stall, from one poll to the next.
include perfetto module slices.with_context;
select
  s.ts,
  s.dur / 1e6 as polled_ms,
  s.name as mostly,
  s.thread_dur / 1e6 as cpu_ms,
  extract_arg(s.arg_set_id, 'debug.runnable_ms') as runnable_ms,
  m.name as message
from thread_slice s
join track t on s.track_id = t.id
left join thread_slice m on m.utid = s.utid and m.ts <= s.ts and m.ts + m.dur >= s.ts + s.dur
  and extract_arg(m.arg_set_id, 'debug.what') is not null
where t.name = 'main: processor while late'
order by s.ts;
