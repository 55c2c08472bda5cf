-- How many frames were at each level: best, normal, middle, high, frozen.
select
  extract_arg(arg_set_id, 'debug.drop_level') as level,
  count(*) as frames,
  sum(extract_arg(arg_set_id, 'debug.dropped')) as dropped,
  max(dur) / 1e6 as longest_ms
from slice
where name glob 'Choreographer#doFrame *' and extract_arg(arg_set_id, 'debug.drop_level') is not null
group by level
order by min(extract_arg(arg_set_id, 'debug.dropped'));
