-- Starts of the app, as Perfetto finds them, with the grade and the time of the application object.
include perfetto module android.startup.startups;
select
  s.startup_id,
  s.startup_type,
  s.package,
  s.dur / 1e6 as dur_ms,
  extract_arg(l.arg_set_id, 'debug.application_ms') as application_ms,
  extract_arg(l.arg_set_id, 'debug.first_draw_ms') as first_draw_ms,
  extract_arg(l.arg_set_id, 'debug.grade') as grade,
  extract_arg(l.arg_set_id, 'debug.activity') as activity
from android_startups s
left join slice l on l.ts = s.ts and l.name glob 'launchingActivity#*' and l.dur > 0
order by s.ts;
