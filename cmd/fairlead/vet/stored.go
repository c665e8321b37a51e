// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
)

// maxManagers bounds the entries of managedFields that are named of one object.
const maxManagers = 5

// kept looks at what a cluster keeps of an object beside what users write.
func (c *checking) kept() {
	if c.served == nil {
		return
	}
	metadata, _ := c.data["metadata"].(map[string]any)
	c.managers(metadata["managedFields"])
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, has := annotations[common.ConversionDataAnnotation]; has && c.version == hub {
		c.suspect(common.ConversionDataAnnotation, "belongs on the view at another version alone, and nothing reads it here: remove it")
	}
	switch value, has := annotations[common.V1Alpha1DataAnnotation].(string); {
	case !has || c.version != hub:
	case len(value) > common.MaxRestoreBytes:
		c.suspect(common.V1Alpha1DataAnnotation, fmt.Sprintf("takes %d bytes, and may take %d: the object cannot be written as it is; remove it, and with it what v1alpha1 said and v1 cannot",
			len(value), common.MaxRestoreBytes))
	case !restorable(value):
		c.suspect(common.V1Alpha1DataAnnotation, "cannot be read, and counts as if it were not there: "+
			"what v1alpha1 said and v1 cannot is lost; remove it, or put back what was there")
	}
}

func (c *checking) suspect(annotation, message string) {
	c.put(c.place(Warning, RuleConversion, "metadata.annotations["+annotation+"]: "+message))
}

// restorable says that a restore annotation of a v1 object can be read.
func restorable(value string) bool {
	var record struct {
		Digest *string        `json:"digest"`
		Spoke  map[string]any `json:"spoke"`
	}
	return json.Unmarshal([]byte(value), &record) == nil && record.Digest != nil && record.Spoke != nil
}

// managers names who wrote the object at a version that is not served any more: to apply it by
// server-side apply fails from then on (kubernetes/kubernetes#111937).
func (c *checking) managers(managed any) {
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
		c.put(c.place(Warning, RuleStorage, fmt.Sprintf("metadata.managedFields[%d]: manager %q wrote at %.100s, which is not served: "+
			"server-side apply to this object fails; storage migration takes the entry away", i, manager, apiVersion)))
	}
}
