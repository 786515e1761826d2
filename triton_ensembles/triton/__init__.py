"""Facts of Triton: releases and images, backends, targets, config.pbtxt as a protobuf, the words of its log."""
