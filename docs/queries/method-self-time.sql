-- The methods with the most self time.
with children as (
  select parent_id as id, sum(dur) as dur from slice where parent_id is not null group by parent_id
)
select
  s.name,
  count(*) as calls,
  sum(s.dur - coalesce(c.dur, 0)) / 1e6 as self_ms,
  sum(s.dur) / 1e6 as with_callees_ms
from slice s
join thread_track tt on s.track_id = tt.id
left join children c on s.id = c.id
where s.dur >= 0
group by s.name
order by self_ms desc
limit 100;
