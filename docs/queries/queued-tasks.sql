-- Tasks that were queued for longest: their executor or handler, who submitted them, where, and which thread ran them.
select
  s.ts,
  s.dur / 1e6 as queued_ms,
  substr(q.name, length('queue of ') + 1) as executor,
  extract_arg(s.arg_set_id, 'debug.task') as task,
  extract_arg(s.arg_set_id, 'debug.submitted_by') as submitted_by,
  extract_arg(s.arg_set_id, 'debug.submitted_at') as submitted_at,
  thread.name as ran_on
from slice s
join track q on s.track_id = q.id
left join flow on flow.slice_out = s.id
left join slice run on flow.slice_in = run.id
left join thread_track on run.track_id = thread_track.id
left join thread using (utid)
where q.name glob 'queue of *' and s.name glob 'queued: *'
order by s.dur desc;
