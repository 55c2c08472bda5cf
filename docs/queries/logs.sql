-- The log on one timeline: ANRs, lines of the recorder and the export, and the app's own lines.
select
  l.ts,
  case l.prio when 2 then 'V' when 3 then 'D' when 4 then 'I' when 5 then 'W' when 6 then 'E' else 'F' end as level,
  l.tag,
  t.name as thread,
  l.msg
from android_logs l
left join thread t using (utid)
order by l.ts;
