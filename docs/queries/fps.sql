-- Frames per second of active time, from sample to sample.
select c.ts, lead(c.ts) over (order by c.ts) - c.ts as dur, c.value as fps
from counter c
join process_counter_track t on c.track_id = t.id
where t.name = 'FPS'
order by c.ts;
