// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect reads what a user may see of Fairlead's objects, and explains it.
//
// Read lists each kind once, page by page, with the rights of the user; ReadWith lists those that matter to one object. New
// makes a Graph of what was read: which object refers to which, and the health of each. Explain tells why an object is as it
// is, by the reasons of its conditions, whose meanings and remedies are the rows in reasons.go of the API packages. It names a
// request only where the object acts on it now.
//
// A ConfigMap or Secret is explained by the workloads that read it and what restarts them, and a Pod by its workload and by what
// it reads (readers.go). Of ConfigMaps and Secrets, this reads the metadata alone.
//
// It writes nothing. What could not be read is named, and is never healthy.
package inspect
