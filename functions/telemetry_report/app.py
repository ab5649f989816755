"""The Lambda function `telemetry_report`."""

from lamina.runtime.telemetry_report import telemetry_report

handler = telemetry_report()
