// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/fairlead-dev/fairlead/controllers/storagemigration"
)

// definitions are those of the operator's own kinds.
func definitions() []string {
	return []string{
		"chaospods.chaos.fairlead.dev", "externalservices.networking.fairlead.dev", "rebootpolicies.autoreboot.fairlead.dev",
	}
}

// migrator rewrites what is stored at an old version, as long as this replica leads.
func (i *incumbent) migrator() (reconciler, error) {
	api := i.limited()
	crds, err := apiextensionsclient.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	objects, err := metadata.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	migrations, err := dynamic.NewForConfig(api)
	if err != nil {
		return reconciler{}, fmt.Errorf("%s: %w", i.api.origin, err)
	}
	made, err := storagemigration.New(storagemigration.Options{
		Definitions: crds.CustomResourceDefinitions(), Objects: objects, Migrations: migrations, Names: definitions(),
		Rate: i.config.StorageMigration.Rate, Settle: i.config.StorageMigration.Settle.Duration, Healthy: i.healthy,
		Events: i.cluster.GetEventRecorder(storagemigration.Name),
		Logger: i.Logger.WithName("storage-migration"), Registerer: i.metrics,
	})
	if err != nil {
		return reconciler{}, err
	}
	i.recorder.Tell("storage migration", made.Status)
	return reconciler{name: storagemigration.Name, warm: func(context.Context) error { return nil }, start: made.Run}, nil
}
