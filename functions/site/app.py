"""The Lambda function `site`."""

from lamina.index.collector import collector_resting

with collector_resting(stays=True):
    from lamina.http.site import site

handler = site()
