// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"github.com/spf13/cobra"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/vet"
)

// checkCluster checks the objects of a cluster.
func (f *vetFlags) checkCluster(command *cobra.Command, _ []string, found func(vet.Object) error) (vet.Summary, error) {
	disabled, err := vet.Disabled(f.disable)
	if err != nil {
		return vet.Summary{}, err
	}
	c, err := f.reach("vet", disabled)
	if err != nil {
		return vet.Summary{}, err
	}
	ctx, stop := untilSignal(command.Context())
	defer stop()
	return c.Check(ctx, found)
}
