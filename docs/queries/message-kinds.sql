-- Which kinds of message took main's time: count, total, mean and longest.
select
  s.name,
  count(*) as messages,
  sum(s.dur) / 1e6 as total_ms,
  avg(s.dur) / 1e6 as mean_ms,
  max(s.dur) / 1e6 as longest_ms
from slice s
join thread_track tt on s.track_id = tt.id
join thread t using (utid)
where t.is_main_thread and extract_arg(s.arg_set_id, 'debug.what') is not null
group by s.name
order by total_ms desc;
