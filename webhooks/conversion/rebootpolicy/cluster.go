// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/autoreboot/v1alpha1"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// clusterForm is a ClusterRebootPolicy at either version: both have the same fields.
type clusterForm struct {
	Spec   autorebootv1.ClusterRebootPolicySpec   `json:"spec"`
	Status autorebootv1.ClusterRebootPolicyStatus `json:"status"`
}

// NewCluster returns the converter of ClusterRebootPolicies.
func NewCluster() *hubspoke.Converter {
	same := func(c clusterForm) clusterForm { return c }
	// Only an object that its version cannot express has a saved form, and an edit of that is all that there is to keep.
	edited := func(_, _, after clusterForm) clusterForm { return after }
	return hubspoke.New(hubspoke.Pair[clusterForm, clusterForm]{
		Group: autorebootv1.GroupVersion.Group, Kind: "ClusterRebootPolicy",
		Hub: autorebootv1.GroupVersion.Version, Spoke: v1alpha1.GroupVersion.Version,
		Up: same, Down: same, OverlayHub: edited,
	})
}
