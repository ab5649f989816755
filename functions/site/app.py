"""The Lambda function `site`."""

from lamina.runtime.site import site

handler = site()
