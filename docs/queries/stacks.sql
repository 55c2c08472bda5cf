-- Functions on main's sampled and dumped stacks, and how often each was innermost.
with recursive frames(sample, callsite, self) as (
  select id, callsite_id, 1 from perf_sample where callsite_id is not null
  union all
  select f.sample, c.parent_id, 0 from frames f
  join stack_profile_callsite c on f.callsite = c.id where c.parent_id is not null
)
select fr.name, count(distinct f.sample) as samples, sum(f.self) as innermost
from frames f
join stack_profile_callsite c on f.callsite = c.id
join stack_profile_frame fr on c.frame_id = fr.id
group by fr.name
order by samples desc, innermost desc;
