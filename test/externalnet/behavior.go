// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalnet

import "time"

// Fault is a fault of a server.
type Fault string

// Faults of the connection, for every kind of server.
const (
	// Healthy is no fault.
	Healthy Fault = ""
	// Refuse closes the listener and resets what is open: the kernel answers a SYN by RST.
	Refuse Fault = "Refuse"
	// Drop leaves every SYN unanswered. Such connections are neither seen nor counted. A
	// client whose kernel sends its SYN again after the fault is over gets through.
	Drop Fault = "Drop"
	// Hang accepts and never answers, not even a TLS handshake. For a TCP check that is healthy.
	Hang Fault = "Hang"
	// Reset accepts and resets the connection, and those that are open. Whether a client learns it
	// from its connect or from its first read is chance, as with real ones.
	Reset Fault = "Reset"
	// Garbage responds with bytes of no protocol, in place of TLS too.
	Garbage Fault = "Garbage"
)

// Faults of TLS.
const (
	// WrongName shows a certificate for another name.
	WrongName Fault = "WrongName"
	// Expired shows a certificate that ended an hour ago.
	Expired Fault = "Expired"
	// UnknownIssuer shows a certificate of another authority.
	UnknownIssuer Fault = "UnknownIssuer"
)

// Faults of HTTP and HTTPS.
const (
	// HugeHeaders responds with 200 with headers that go on until the client leaves, or 64 MiB are sent.
	HugeHeaders Fault = "HugeHeaders"
	// HugeBody responds with the status with a body that goes on until the client leaves, or 64 MiB are
	// sent.
	HugeBody Fault = "HugeBody"
)

// Faults of gRPC.
const (
	// NotServing is the health service's answer of that name.
	NotServing Fault = "NotServing"
	// ServiceUnknown has the health service know no service.
	ServiceUnknown Fault = "ServiceUnknown"
	// Unimplemented is a server without the health service.
	Unimplemented Fault = "Unimplemented"
)

// Behavior is how a server treats its clients. The zero value is healthy: TCP accepts, HTTP answers
// 200, gRPC returns SERVING.
type Behavior struct {
	// Fault is the fault of the server. The default is nothing.
	Fault Fault
	// Delay before an answer of HTTP or gRPC. The default is none.
	Delay time.Duration
	// Status of HTTP. The default is 200, and 302 with Redirect.
	Status int
	// Redirect is the Location of an HTTP answer. The default is none.
	Redirect string
}
