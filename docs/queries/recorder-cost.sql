-- What recording cost and what is missing, as the recorder measured it.
select
  extract_arg(s.arg_set_id, 'debug.events') as events,
  extract_arg(s.arg_set_id, 'debug.words_overwritten') as words_overwritten,
  extract_arg(s.arg_set_id, 'debug.events_dropped') as events_dropped,
  extract_arg(s.arg_set_id, 'debug.ns_per_event_precise') as ns_per_event,
  extract_arg(s.arg_set_id, 'debug.cost_percent_main') as percent_of_main,
  (select sum(dur) / 1e6 from slice p where p.track_id = s.track_id and p.name = 'recording paused') as paused_ms
from slice s
join track t on s.track_id = t.id
where t.name = 'anrscope recorder' and s.name = 'recording';
