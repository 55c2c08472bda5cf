-- Frames that dropped others, with the time of each stage and the system's figures.
select
  f.ts,
  f.name,
  f.dur / 1e6 as dur_ms,
  extract_arg(f.arg_set_id, 'debug.dropped') as dropped,
  extract_arg(f.arg_set_id, 'debug.drop_level') as level,
  sum(iif(extract_arg(s.arg_set_id, 'debug.stage') = 'INPUT', s.dur, 0)) / 1e6 as input_ms,
  sum(iif(extract_arg(s.arg_set_id, 'debug.stage') = 'ANIMATION', s.dur, 0)) / 1e6 as animation_ms,
  sum(iif(extract_arg(s.arg_set_id, 'debug.stage') = 'TRAVERSAL', s.dur, 0)) / 1e6 as traversal_ms,
  extract_arg(f.arg_set_id, 'debug.total_ms') as system_total_ms,
  extract_arg(f.arg_set_id, 'debug.input_latency_ms') as input_latency_ms
from slice f
left join slice s on s.parent_id = f.id
where f.name glob 'Choreographer#doFrame *' and extract_arg(f.arg_set_id, 'debug.dropped') > 0
group by f.id
order by dropped desc, f.ts;
