// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package notifications sends the Events of the operator to a receiver, as CloudEvents over HTTP.
//
// sender.go has the queue and the retries. cloudevent.go has what is sent of an Event: the structured JSON of CloudEvents 1.0.
package notifications
