-- Main's messages in the 10 s before each ANR, short ones grouped.
select
  a.name as anr,
  (s.ts - a.ts - a.dur) / 1e6 as before_detection_ms,
  s.dur / 1e6 as dur_ms,
  s.name,
  extract_arg(s.arg_set_id, 'debug.count') as messages,
  extract_arg(s.arg_set_id, 'debug.wall_ms') as wall_ms
from slice s
join track t on s.track_id = t.id
join slice a on a.name glob 'ANR: *' and s.ts < a.ts + a.dur and s.ts + s.dur > a.ts + a.dur - 10000000000
where t.name = 'main: messages before an ANR'
order by a.ts, s.ts;
