// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package calendar lists what is to come: windows, blackouts, those of the whole cluster, scheduled restarts and runs of chaos.
//
// Of computes the events by the packages that the controllers take their times from, and ics.go writes them as a calendar that
// programs subscribe to. What could not be read is named.
package calendar
