// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

// Program dist writes what a release installs: the Helm chart, as a folder and packed, and install.yaml. With the digest of an
// image it pushes the chart to a registry on loopback, pulls and renders it, and prints the digest that registries have it by.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/fairlead-dev/fairlead/test/chart"
	"github.com/fairlead-dev/fairlead/test/chart/registry"
)

func main() {
	config := flag.String("config", "", "Folder of the kustomizations.")
	out := flag.String("out", "", "Folder that is written to.")
	version := flag.String("version", "", "Version of the chart and tag of the image, such as 0.1.0.")
	image := flag.String("image", "fairlead", "Repository of the image.")
	digest := flag.String("digest", "", "Digest of the image, such as sha256:..., by which it is pulled. Default: it is pulled by its tag.")
	flag.Parse()
	if err := run(*config, *out, *version, *image, *digest); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func run(config, out, version, image, digest string) error {
	if config == "" || out == "" || version == "" {
		return errors.New("--config, --out and --version are required")
	}
	archive, err := chart.Release(config, out, version, image, digest)
	if err != nil || digest == "" {
		return err
	}
	published, err := registry.Publish(archive, image+"@"+digest)
	if err != nil {
		return fmt.Errorf("the chart from a registry: %w", err)
	}
	fmt.Println(published)
	return nil
}
