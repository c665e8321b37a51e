// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"errors"
	"net"

	"github.com/fairlead-dev/fairlead/internal/egress"
)

// dial dials as the pod's own workload what the policy refuses for being where pods are, and nothing else.
func (c *Checks) dial(ctx context.Context, to egress.Query) (net.Conn, error) {
	conn, err := c.network.DialUnapproved(ctx, to)
	if refusal, refused := errors.AsType[*egress.DeniedError](err); refused && to.Authorized {
		switch refusal.Verdict.Reason {
		case egress.ReasonPod, egress.ReasonNode, egress.ReasonClusterCIDR:
			to.OwnPod = true
			return c.options.Dial(ctx, to)
		}
	}
	return conn, err
}
