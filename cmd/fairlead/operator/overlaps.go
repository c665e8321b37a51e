// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"sync/atomic"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/internal/rules/chaospod"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

// overlaps warns of objects that act on the same workload, and of what else only the caches know. It reads the cache once that has
// synced and says nothing before: a warning is not worth a wait, and a validator that waits for a
// cache holds up the very writes that the cache's start may need (elastic/cloud-on-k8s#5025).
type overlaps struct {
	reader atomic.Pointer[client.Reader] // nil until it has synced
	logger logr.Logger
	pods   podAddresses
	// budgets are those that evictions meet.
	budgets budgets
}

// open lets it read from now on.
func (o *overlaps) open(reader client.Reader) { o.reader.Store(&reader) }

func (o *overlaps) ofRebootPolicy(ctx context.Context, obj *autorebootv1.RebootPolicy) []string {
	warnings := o.budgets.ofRebootPolicy(ctx, obj)
	var others autorebootv1.RebootPolicyList
	if !o.list(ctx, &others, obj.Namespace) {
		return warnings
	}
	return append(warnings, rebootpolicy.Overlaps(obj, others.Items)...)
}

func (o *overlaps) ofChaosPod(ctx context.Context, obj *chaosv1.ChaosPod) []string {
	warnings := o.budgets.ofChaosPod(ctx, obj)
	var others chaosv1.ChaosPodList
	if !o.list(ctx, &others, obj.Namespace) {
		return warnings
	}
	return append(warnings, chaospod.Overlaps(obj, others.Items)...)
}

// list fails softly: where only some namespaces are watched the others cannot be read. The items
// are the cache's own and must not be changed, which spares copying a namespace per request.
func (o *overlaps) list(ctx context.Context, into client.ObjectList, namespace string) bool {
	reader := o.reader.Load()
	if reader == nil {
		return false
	}
	if err := (*reader).List(ctx, into, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		o.logger.V(1).Info("no overlap warnings", "namespace", namespace, "reason", err.Error())
		return false
	}
	return true
}
