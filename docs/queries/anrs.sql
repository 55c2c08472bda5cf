-- The ANRs: cause, place in the app, start, length, message and stage, detector, and verdict.
select
  s.ts,
  s.dur / 1e6 as blocked_ms,
  s.name,
  extract_arg(s.arg_set_id, 'debug.cause') as cause,
  extract_arg(s.arg_set_id, 'debug.root') as root,
  extract_arg(s.arg_set_id, 'debug.next') as next,
  extract_arg(s.arg_set_id, 'debug.message') as message,
  extract_arg(s.arg_set_id, 'debug.stage') as stage,
  extract_arg(s.arg_set_id, 'debug.scene') as scene,
  extract_arg(s.arg_set_id, 'debug.detector') as detector,
  extract_arg(s.arg_set_id, 'debug.verdict') as verdict,
  extract_arg(s.arg_set_id, 'debug.pending_messages') as waiting
from slice s
where s.name glob 'ANR: *'
order by s.ts;
