-- Frames on Perfetto's frame timeline: how late each was, and the reported reason.
select
  a.ts,
  a.dur / 1e6 as actual_ms,
  e.dur / 1e6 as expected_ms,
  (a.ts + a.dur - e.ts - e.dur) / 1e6 as late_ms,
  a.jank_type,
  a.jank_severity_type,
  a.present_type,
  a.prediction_type
from actual_frame_timeline_slice a
left join expected_frame_timeline_slice e using (upid, surface_frame_token)
order by late_ms desc;
