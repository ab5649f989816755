"""The Lambda function `telemetry_report`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.http.telemetry_report import telemetry_report

handler = telemetry_report()
