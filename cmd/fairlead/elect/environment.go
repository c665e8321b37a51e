// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package elect

import (
	"os"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// The environment of the command, beside that of this process.
const (
	// EnvNamespace, EnvName and EnvHolder are those of the Lease that it runs under.
	EnvNamespace = "FAIRLEAD_LEASE_NAMESPACE"
	EnvName      = "FAIRLEAD_LEASE_NAME"
	EnvHolder    = "FAIRLEAD_LEASE_HOLDER"
	// EnvTransitions is the Lease's spec.leaseTransitions. It begins at 0 again where the Lease is deleted.
	EnvTransitions = "FAIRLEAD_LEASE_TRANSITIONS"
	// EnvToken is the fencing token: the resourceVersion of a write by which this candidate held the Lease
	// when the command was started. It is a decimal number of 64 bits, larger than that of every command
	// that ran under the Lease before, also where the Lease was deleted in between.
	EnvToken = "FAIRLEAD_FENCING_TOKEN"
)

// environment is that of a command that runs under a Lease.
func environment(lease *coordinationv1.Lease) []string {
	return append(os.Environ(),
		EnvNamespace+"="+lease.Namespace, EnvName+"="+lease.Name,
		EnvHolder+"="+ptr.Deref(lease.Spec.HolderIdentity, ""),
		EnvTransitions+"="+strconv.Itoa(int(ptr.Deref(lease.Spec.LeaseTransitions, 0))),
		EnvToken+"="+lease.ResourceVersion)
}
