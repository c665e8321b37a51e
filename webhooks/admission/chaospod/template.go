// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/chaospod"
)

// tryTimeout bounds the dry run, which calls the webhooks of others.
const tryTimeout = time.Second

// tried creates the pod of a template as a dry run, and returns what makes it invalid. It ignores a quota, a policy or
// a missing right, which may refuse the pod only for now. The condition Ready reports such a refusal once the pod is
// created.
func (w *webhook) tried(ctx context.Context, obj, old *chaosv1.ChaosPod) field.ErrorList {
	template := obj.Spec.Target.Template
	if w.options.Pods == nil || template == nil || !obj.DeletionTimestamp.IsZero() ||
		old != nil && equality.Semantic.DeepEqual(template, old.Spec.Target.Template) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	pod := rules.Canary(obj)
	_, err := w.options.Pods.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var errs field.ErrorList
	for _, cause := range status.Status().Details.Causes {
		if !strings.HasPrefix(cause.Field, "spec") && !strings.HasPrefix(cause.Field, "metadata") {
			continue
		}
		kind := field.ErrorType(cause.Type)
		errs = append(errs, &field.Error{
			Type: kind, Field: "spec.target.template." + cause.Field, BadValue: field.OmitValueType{},
			Detail: strings.TrimPrefix(strings.TrimPrefix(cause.Message, kind.String()), ": "),
		})
	}
	return errs
}
