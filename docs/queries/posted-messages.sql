-- Messages whose post is known: who posted them, where, and how long before they were dispatched.
select
  ts,
  dur / 1e6 as dur_ms,
  name,
  extract_arg(arg_set_id, 'debug.posted_by') as posted_by,
  extract_arg(arg_set_id, 'debug.posted_in') as posted_in,
  extract_arg(arg_set_id, 'debug.posted_at') as posted_at,
  extract_arg(arg_set_id, 'debug.posted_ms_before') as posted_ms_before
from slice
where posted_by is not null
order by dur desc;
