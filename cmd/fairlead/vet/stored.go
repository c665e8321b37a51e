// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"slices"
	"strings"
)

// maxManagers bounds the entries of managedFields that are named of one object.
const maxManagers = 5

// checkStored checks what a cluster stores in an object in addition to what users write.
func (c *objectCheck) checkStored() {
	if c.served == nil {
		return
	}
	metadata, _ := c.data["metadata"].(map[string]any)
	c.checkManagers(metadata["managedFields"])
}

// checkManagers reports the managers that wrote the object at a version that is no longer served: server-side
// apply to it fails (kubernetes/kubernetes#111937).
func (c *objectCheck) checkManagers(managed any) {
	entries, _ := managed.([]any)
	named := 0
	for i, entry := range entries {
		fields, _ := entry.(map[string]any)
		apiVersion, _ := fields["apiVersion"].(string)
		manager, _ := fields["manager"].(string)
		group, version, _ := strings.Cut(apiVersion, "/")
		if group != c.kind.Group || slices.Contains(c.served, version) {
			continue
		}
		if named++; named > maxManagers {
			return
		}
		c.addFinding(c.findingFor(Warning, RuleStorage, fmt.Sprintf("metadata.managedFields[%d]: manager %q wrote at %.100s, which is not served: "+
			"server-side apply to this object fails until you remove the entry", i, manager, apiVersion)))
	}
}
