-- Messages that started 100 ms or more after they were due, and what main did meanwhile.
select
  d.ts as due,
  m.ts as taken,
  (m.ts - d.ts) / 1e6 as late_ms,
  m.name,
  (
    select group_concat(b.name, '; ') from slice b
    where b.track_id = m.track_id and b.depth = 0 and b.ts < m.ts and b.ts + b.dur > d.ts and b.dur > 10000000
  ) as meanwhile
from flow f
join slice d on f.slice_out = d.id
join slice m on f.slice_in = m.id
where d.name glob 'due: *'
order by late_ms desc;
