// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// workload is the part of a workload that Live keeps. The API type takes four times the memory, most of it for a pod template.
// Live reads only the template's annotations.
type workload struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	TemplateAnnotations map[string]string
	Health              Health
	Said                string // what it was judged by
}

var _ client.Object = (*workload)(nil)

func newWorkload(of client.Object, health Health, said string) *workload {
	return &workload{
		TypeMeta: metav1.TypeMeta{Kind: KeyOf(of).Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: of.GetNamespace(), Name: of.GetName(), Generation: of.GetGeneration(),
			DeletionTimestamp: of.GetDeletionTimestamp(), Labels: of.GetLabels(), Annotations: of.GetAnnotations(),
		},
		TemplateAnnotations: templateAnnotations(of), Health: health, Said: said,
	}
}

// DeepCopyObject makes it an object.
func (w *workload) DeepCopyObject() runtime.Object {
	c := *w
	w.DeepCopyInto(&c.ObjectMeta)
	c.TemplateAnnotations = maps.Clone(w.TemplateAnnotations)
	return &c
}

// templateAnnotations returns the annotations of the pod template of a workload.
func templateAnnotations(of client.Object) map[string]string {
	if w, is := of.(*workload); is {
		return w.TemplateAnnotations
	}
	if template := workloadkinds.PodTemplate(of); template != nil {
		return template.Annotations
	}
	return nil
}
