-- Where the trace was recorded: the processes with their users, and the system.
select
  p.pid,
  p.name as process,
  p.uid,
  p.start_ts as first_seen,
  (select str_value from metadata where name = 'system_release') as kernel,
  (select str_value from metadata where name = 'system_machine') as machine,
  (select int_value from metadata where name = 'android_sdk_version') as sdk
from process p
where p.uid is not null
order by p.pid;
